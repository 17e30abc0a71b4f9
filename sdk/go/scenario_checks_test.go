package nutshell_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var itemForm = regexp.MustCompile(`^(\w+)=(.*)\.(\w+)$`)

// at follows a path; `name=value.` finds an item of a list, and its value may have dots.
func at(value any, path string) any {
	for path != "" && value != nil {
		if found := itemForm.FindStringSubmatch(path); found != nil {
			list := reflect.ValueOf(value)
			value = nil
			for i := 0; i < list.Len(); i++ {
				if one := list.Index(i).Interface(); at(one, found[1]) == any(found[2]) {
					value = one
				}
			}
			path = found[3]
			continue
		}
		name, rest, _ := strings.Cut(path, ".")
		value, path = member(value, name), rest
	}
	return plain(value)
}

// plain takes pointers and numbers to what JSON has.
func plain(value any) any {
	if raw, is := value.(json.RawMessage); is {
		var parsed any
		if len(raw) > 0 && json.Unmarshal(raw, &parsed) != nil {
			return string(raw)
		}
		return parsed
	}
	known := reflect.ValueOf(value)
	switch {
	case value == nil || known.Kind() == reflect.Pointer && known.IsNil():
		return nil
	case known.Kind() == reflect.Pointer && known.Elem().Kind() != reflect.Struct:
		return plain(known.Elem().Interface())
	case known.CanInt():
		return float64(known.Int())
	case known.Kind() == reflect.String:
		return known.String()
	}
	return value
}

func member(value any, name string) any {
	known := reflect.ValueOf(plain(value))
	if !known.IsValid() {
		return nil
	}
	if duration, is := strings.CutSuffix(name, "_ms"); is {
		if found, is := member(value, duration).(float64); is {
			return found / float64(time.Millisecond)
		}
	}
	method := strings.ReplaceAll(pascal(name), "Id", "ID")
	if found := known.MethodByName(method); found.IsValid() && found.Type().NumIn() == 0 && found.Type().NumOut() == 1 {
		return plain(found.Call(nil)[0].Interface())
	}
	for known.Kind() == reflect.Pointer || known.Kind() == reflect.Interface {
		known = known.Elem()
	}
	switch known.Kind() {
	case reflect.Map:
		if found := known.MapIndex(reflect.ValueOf(name)); found.IsValid() {
			return plain(found.Interface())
		}
	case reflect.Slice:
		if number, err := strconv.Atoi(name); err == nil && number < known.Len() {
			return plain(known.Index(number).Interface())
		}
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(known.Type()) {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			isThis := tag == name || (tag == "" && strings.EqualFold(field.Name, strings.ReplaceAll(name, "_", "")))
			if isThis && field.IsExported() {
				if found, err := known.FieldByIndexErr(field.Index); err == nil {
					return plain(found.Interface())
				}
			}
		}
	}
	return nil
}

func pascal(name string) string {
	made := ""
	for _, word := range strings.Split(name, "_") {
		if word != "" {
			made += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return made
}

func holds(t *testing.T, found, wanted any) bool {
	if data, is := found.([]byte); is {
		found = string(data)
	}
	if data, is := wanted.([]byte); is {
		wanted = string(data)
	}
	known, is := wanted.(map[string]any)
	if !is {
		return found == wanted
	}
	for name, value := range known {
		switch name {
		case "matches":
			text, is := found.(string)
			return is && regexp.MustCompile(value.(string)).MatchString(text)
		case "contains":
			return found != nil && strings.Contains(fmt.Sprint(found), fmt.Sprint(value))
		case "lacks":
			return found != nil && !strings.Contains(fmt.Sprint(found), fmt.Sprint(value))
		case "at_least":
			number, is := found.(float64)
			return is && number >= value.(float64)
		case "at_most":
			number, is := found.(float64)
			return is && number <= value.(float64)
		case "length":
			return found != nil && reflect.ValueOf(found).Len() == int(value.(float64))
		}
		t.Fatalf("unknown check %s", name)
	}
	return false
}
